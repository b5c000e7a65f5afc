# The version that `hushgate version` says: HUSHGATE_RELEASE where a builder gives it, else by git tag
# (packaging/version), else what project() says. Included right behind project().
include_guard(GLOBAL)
set(HUSHGATE_RELEASE "" CACHE STRING "The version of this build; empty: by git tag")
if(HUSHGATE_RELEASE)
  set(PROJECT_VERSION "${HUSHGATE_RELEASE}")
else()
  execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/version" "${PROJECT_VERSION}"
    OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(PROJECT_VERSION "${described}")
  endif()
  # A commit or a tag changes the version, so it is asked for again.
  foreach(file HEAD logs/HEAD packed-refs refs/tags)
    if(EXISTS "${PROJECT_SOURCE_DIR}/.git/${file}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.git/${file}")
    endif()
  endforeach()
endif()
