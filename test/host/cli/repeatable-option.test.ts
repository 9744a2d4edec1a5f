import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { home } from "./svc.ts";

it("a repeatable option of a plugin's verb becomes an ordered list; arguments around it stay arguments", async (t) => {
  const { svc, configPath } = home(t, { plugins: { load: { paths: ["./tagger"] } } });
  const directory = join(dirname(configPath), "tagger");
  mkdirSync(directory);
  const entry = { id: "tagger", api: "^1.0.0", entry: "./plugin.ts", cli: "./cli.ts" };
  const manifest = { ...entry, commands: [{ name: "tag", summary: "Tag" }] };
  writeFileSync(
    join(directory, "package.json"),
    JSON.stringify({ name: "tagger", version: "1.0.0", type: "module", svc: manifest }),
  );
  writeFileSync(
    join(directory, "cli.ts"),
    `import { defineCommands } from "@svc/sdk/cli";
const options = [{ flags: "--tag <tag>", description: "a tag", repeatable: true }];
export default defineCommands([
  { name: "tag", summary: "Tag", args: "<name>", options, async run({ args, options, print }) { print({ args, tag: options.tag }); } },
]);`,
  );
  const said = async (...args: string[]) => JSON.parse((await svc(["tag", "--json", ...args])).stdout) as unknown;
  assert.deepEqual(await said("--tag", "a: b", "Ada", "--tag", "c"), { args: ["Ada"], tag: ["a: b", "c"] });
  assert.deepEqual(await said("Ada", "--tag", "one"), { args: ["Ada"], tag: ["one"] });
  assert.deepEqual(await said("Ada"), { args: ["Ada"] });
});
