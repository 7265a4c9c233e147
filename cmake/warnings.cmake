# For the project's own tests, examples and benchmarks; nothing of this reaches a user's target.
function(shardweave_warnings target)
    target_compile_options(
        ${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror)
endfunction()
