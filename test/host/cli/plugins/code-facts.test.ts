/** Declarations in the code of plugins, read in a disposable process. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { codeFacts } from "../../../../host/cli/plugin-facts/code-facts.ts";
import { linkSdk } from "../../../../host/installed/sdk-link.ts";
import { directory } from "../../../directory.ts";
import { writePackage } from "../../../plugin-package.ts";

it(
  "declarations of all files are read although importing some of them ends the process",
  { timeout: 60_000 },
  async (t) => {
    const place = directory(t);
    linkSdk(place);
    const files = await Promise.all(
      [
        { name: "one" },
        { name: "two", code: "process.exit(1);" },
        { name: "three", code: 'throw new Error("no");' },
        { name: "four" },
      ].map(async (plugin) => join(await writePackage(join(place, "node_modules", plugin.name), plugin), "plugin.js")),
    );
    const facts = await codeFacts(files);
    assert.deepEqual(
      facts.map(({ id, problem }) => id ?? problem),
      ["one", "importing it ends or blocks the process", "no", "four"],
    );
  },
);
