/** Wiring of `svc config ...`. */
import type { SetFlags } from "../config/write.ts";
import { examples, JSON_OPTION, type Wiring } from "../verb.ts";

export function addConfigVerbs({ program, output, act }: Wiring): void {
  const config = program.command("config").description("The configuration file");
  config
    .command("get [path]")
    .description("The configuration or one value of it, secrets hidden")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config get", "svc config get gateway.port", "svc config get 'plugins.use[0]'"))
    .action((path: string | undefined) => act(async () => (await import("../config/read.ts")).getConfig(path, output)));
  config
    .command("set <path> <value>")
    .description("Set one value; the result is checked before it is written")
    .option("--string", "take the value as text, whatever it looks like")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nThe value is JSON5, else text. A value that begins with - goes after --.")
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
    .description("Take one value out")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config unset gateway.port"))
    .action((path: string) => act(async () => (await import("../config/write.ts")).unsetConfig(path, output)));
  config
    .command("file")
    .description("Where the configuration file is")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config file", '$EDITOR "$(svc config file)"'))
    .action(() => act(async () => (await import("../config/read.ts")).printConfigFile(output)));
  config
    .command("validate [file]")
    .description("Check the configuration file, or another one; starts nothing")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config validate", "svc config validate ./draft.json"))
    .action((file: string | undefined) =>
      act(async () => (await import("../config/read.ts")).validateConfig(file, output)),
    );
  config
    .command("schema [path]")
    .description("What the configuration may hold, as JSON Schema")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config schema", "svc config schema gateway.auth"))
    .action((path: string | undefined) =>
      act(async () => (await import("../config/read.ts")).printSchema(path, output)),
    );
  config
    .command("diff [file]")
    .description("What the gateway uses against the file; or the file against another one. Exits 1 when they differ")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc config diff", "svc config diff ./draft.json"))
    .action((file: string | undefined) =>
      act(async () => (await import("../config/diff.ts")).diffConfig(file, output)),
    );
}
