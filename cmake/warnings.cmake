# For the project's own tests, examples and benchmarks; nothing of this reaches a user's target.
function(shardweave_warnings target)
    target_compile_options(
        ${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror)
endfunction()

# For what is short to run, as far as the daily build runs it, and long to compile: without optimisation
# it takes half the time.
function(shardweave_quick target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0>)
endfunction()
