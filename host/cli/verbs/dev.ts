/** Wiring of `svc dev`. */
import type { RunFlags } from "../gateway-run.ts";
import { examples, JSON_OPTION, type Wiring } from "../verb.ts";
import { withRun } from "./gateway.ts";

export function addDevVerb({ program, output, act }: Wiring): void {
  withRun(program.command("dev <path>"))
    .description("Run the gateway with a plugin that is being written; each save puts it in place anew")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      "\n<path> is a package directory or one file. Its TypeScript runs as it is; types are not checked.",
    )
    .addHelpText(
      "after",
      "A version that fails changes nothing: the former one serves on, and the error names its line.",
    )
    .addHelpText("after", examples("svc plugins new notes && svc dev notes", "svc dev ./greet.ts --port 0"))
    .action((path: string, flags: RunFlags) =>
      act(async () => (await import("../dev.ts")).runDev(path, flags, output)),
    );
}
