/** Holds the direction in which the folders of the plugin import each other (README, "Folders"). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { root } from "../../checkout.ts";

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  directory: [],
  history: [],
  versions: ["directory"],
  subagents: ["directory"],
  runs: ["directory", "history", "subagents"],
};

it("the folders of the plugin import each other in one direction", () => {
  const plugin = join(root, "plugins/agents");
  const rooms = readdirSync(plugin, { withFileTypes: true }).filter(
    ({ name }) => name !== "dist" && !name.startsWith("."),
  );
  assert.deepEqual(
    rooms.flatMap((room) => (room.isDirectory() ? [room.name] : [])).toSorted(),
    Object.keys(MAY_IMPORT).toSorted(),
  );
  for (const [room, allowed] of Object.entries(MAY_IMPORT))
    for (const file of readdirSync(join(plugin, room))) {
      const text = readFileSync(join(plugin, room, file), "utf8");
      for (const [, target = ""] of text.matchAll(/"\.\.\/([^"]+)"/g))
        assert.ok(
          target === "config.ts" || allowed.includes(target.split("/")[0] ?? ""),
          `${room}/${file} imports ${target}`,
        );
    }
});
