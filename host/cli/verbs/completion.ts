/** Wiring of `svc completion`. */
import { Argument } from "commander";
import { printCompletionScript, SHELLS, type Shell } from "../completion-script.ts";
import { examples, type Wiring } from "../verb.ts";

export function addCompletionVerb({ program, output, act }: Wiring): void {
  program
    .command("completion")
    .description("Print a script that completes commands in your shell")
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
    .addHelpText(
      "after",
      examples(
        'eval "$(svc completion bash)"      # in ~/.bashrc',
        'eval "$(svc completion zsh)"       # in ~/.zshrc, after compinit',
        "svc completion fish | source       # in ~/.config/fish/config.fish",
      ),
    )
    .action((shell: Shell) => act(() => printCompletionScript(shell, output)));
}
