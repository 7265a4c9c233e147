# Run by ctest for one file; see CMakeLists.txt.
set(flags -std=c++20 -fsyntax-only -fdiagnostics-color=never)
foreach(directory IN LISTS INCLUDES)
    # Not -isystem: /usr/include given so would hide the C headers from the C++ ones.
    list(APPEND flags -I${directory})
endforeach()
foreach(definition IN LISTS DEFINITIONS)
    list(APPEND flags -D${definition})
endforeach()
set(ENV{LC_ALL} C)

execute_process(
    COMMAND ${COMPILER} ${flags} -DCOMPILE_OK ${SOURCE}
    RESULT_VARIABLE result
    ERROR_VARIABLE words)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "does not compile without its mistake either:\n${words}")
endif()

file(STRINGS ${SOURCE} expected LIMIT_COUNT 1)
if(NOT expected MATCHES "^// expect: (.+)$")
    message(FATAL_ERROR "the first line is not `// expect: <regex>`")
endif()
set(expected "${CMAKE_MATCH_1}")

execute_process(
    COMMAND ${COMPILER} ${flags} ${SOURCE}
    RESULT_VARIABLE result
    ERROR_VARIABLE words)
if(result EQUAL 0)
    message(FATAL_ERROR "compiles, but must not")
elseif(NOT words MATCHES "${expected}")
    message(FATAL_ERROR "does not say `${expected}`, but:\n${words}")
endif()
