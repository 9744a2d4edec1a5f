/** The scripts of `svc completion`. Each one calls `svc` for the candidates, so it never becomes outdated. */
import { EXIT, type Output } from "./output.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Prints the script. @returns the exit code */
export function printCompletionScript(shell: Shell, output: Output): number {
  output.print(SCRIPTS[shell]);
  return EXIT.ok;
}

const SCRIPTS: Readonly<Record<Shell, string>> = {
  // "$1" is the command as typed, which may be a path.
  bash: `# svc completion for bash
_svc_complete() {
  local IFS=$'\\n'
  COMPREPLY=($("$1" completion --complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _svc_complete svc`,

  zsh: `#compdef svc
# svc completion for zsh
_svc() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" completion --complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "\${candidates[1]}" ]] && compadd -- "\${candidates[@]}" || _files
}
if [[ "\${funcstack[1]}" == "_svc" ]]; then _svc "$@"; else compdef _svc svc; fi`,

  fish: `# svc completion for fish
function __svc_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l command $words[1]
  set -e words[1]
  $command completion --complete --describe -- $words "$current" 2>/dev/null
end
complete -c svc -a '(__svc_complete)'`,
};
