/** Wiring of `svc config ...`. */
import type { SetFlags } from "../config/write.ts";
import type { TargetFlags } from "../target.ts";
import { examples, JSON_OPTION, type Wiring, withTarget } from "../verb.ts";

export function addConfigVerbs({ program, output, act }: Wiring): void {
  const config = program.command("config").description("Read, check and change the configuration file");
  config
    .command("get [path]")
    .description("Print the configuration or one value of it; secrets are hidden")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config get", "svc config get gateway.port", "svc config get 'plugins.use[0]'"))
    .action((path: string | undefined) => act(async () => (await import("../config/read.ts")).getConfig(path, output)));
  config
    .command("set <path> <value>")
    .description("Set one value; the result is checked before it is written")
    .option("--string", "treat the value as text, even if it is valid JSON5")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nThe value is parsed as JSON5, else used as text. Put a value that begins with - after --.")
    .addHelpText(
      "after",
      examples(
        "svc config set gateway.port 19001",
        "svc config set logging '{level: \"debug\"}'",
        "svc config set 'plugins.use[0]' ./notes",
        "svc config set --string gateway.auth.token 12345",
      ),
    )
    .action((path: string, value: string, flags: SetFlags) =>
      act(async () => (await import("../config/write.ts")).setConfig(path, value, flags, output)),
    );
  config
    .command("unset <path>")
    .description("Remove one value")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config unset gateway.port"))
    .action((path: string) => act(async () => (await import("../config/write.ts")).unsetConfig(path, output)));
  config
    .command("file")
    .description("Print the path of the configuration file")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config file", '$EDITOR "$(svc config file)"'))
    .action(() => act(async () => (await import("../config/read.ts")).printConfigFile(output)));
  config
    .command("validate [file]")
    .description("Check the configuration file or another file; starts nothing")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config validate", "svc config validate ./draft.json"))
    .action((file: string | undefined) =>
      act(async () => (await import("../config/read.ts")).validateConfig(file, output)),
    );
  config
    .command("schema [path]")
    .description("Print the JSON Schema of the configuration or of one key")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config schema", "svc config schema gateway.auth"))
    .action((path: string | undefined) =>
      act(async () => (await import("../config/read.ts")).printSchema(path, output)),
    );
  withTarget(config.command("move"))
    .description("Move the configuration to the database that several gateways share, or back to the file of each")
    .option("--to <place>", "database or file")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config move --to database", "svc config move --to file"))
    .action((flags: TargetFlags & { to?: string }) =>
      act(async () => (await import("../config/move.ts")).moveConfig(flags, output)),
    );
  config
    .command("diff [file]")
    .description(
      "Compare the gateway's configuration with the file, or the file with another. Exits with 1 if they differ",
    )
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config diff", "svc config diff ./draft.json"))
    .action((file: string | undefined) =>
      act(async () => (await import("../config/diff.ts")).diffConfig(file, output)),
    );
}
