/** Wiring of `svc trim`. */
import type { TrimFlags } from "../trim/trim.ts";
import { examples, JSON_OPTION, type Wiring } from "../verb.ts";

export function addTrimVerb({ program, output, act }: Wiring): void {
  program
    .command("trim")
    .description("Write a directory that runs by itself: the host, chosen plugins and what they need")
    .requiredOption("--out <dir>", "directory to write; it must not exist, or be empty")
    .option("--profile <name>", "the plugins of this profile of the bundle")
    .option("--plugins <list>", "these plugins, separated by commas, beside those of the profile")
    .option("--with-requirements", "add the plugins that the named ones cannot do without")
    .option("--all-platforms", "keep add-ons in machine code for other systems, too")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nWithout --profile and --plugins: what the configuration uses.")
    .addHelpText(
      "after",
      examples(
        "svc trim --out ./gateway --profile minimal",
        "svc trim --out ./gateway --plugins config,notes --with-requirements",
      ),
    )
    .action((flags: TrimFlags) => act(async () => (await import("../trim/trim.ts")).trim(flags, output)));
}
