# rankfeed_together(TARGET NAME FILES...): compiles FILES of TARGET, which lie in the calling directory, as one source.
# A folder, with a slash at its end, stands for all sources of TARGET in it.
# Most of what compiling them costs is the headers of CLI11, nlohmann-json, fmt and Boost and what their templates
# become, and both are then compiled once. RANKFEED_TOGETHER=OFF compiles each file alone, as those who work on them want.
function(rankfeed_together target name)
  if(NOT RANKFEED_TOGETHER)
    return()
  endif()
  # Paths as of src or the folder of the project, one of which is on the target's search path: the text is the same in
  # every clone, so compiler caches know it.
  set(text "")
  set(files ${ARGN})
  if(ARGN MATCHES "/$")
    get_target_property(files ${target} SOURCES)
    list(FILTER files INCLUDE REGEX "^${ARGN}")
  endif()
  foreach(file IN LISTS files)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    string(APPEND text "#include \"${path}\"\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
  set_source_files_properties(${files} PROPERTIES HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE ${source})
  # A class of one file that has a member of a type in its unnamed namespace, which gcc takes for a header's here.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)
  endif()
endfunction()
