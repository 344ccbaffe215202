#!/bin/sh
# A provider for promptfoo's `exec:`: gets the rendered prompt - here a transcript, untouched - as its first argument, and
# prints the verdict of `reflexion judge`. `REFLEXION` names the program if it is not on the PATH.
#
# Exit status 1 of `reflexion judge` means "not complete", which is an answer and no failure.
printf '%s' "$1" | "${REFLEXION:-reflexion}" judge --json || [ $? -eq 1 ]
