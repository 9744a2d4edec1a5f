/** The commands of every bundled plugin: package.json, from which help is printed, says what the code has. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Command } from "@svc/sdk/cli";
import { root } from "../checkout.ts";

interface Listed {
  readonly name: string;
  readonly summary: string;
  readonly isGroup?: boolean;
}

const plugins = readdirSync(join(root, "plugins")).flatMap((name) => {
  const file = join(root, "plugins", name, "package.json");
  const { svc } = JSON.parse(readFileSync(file, "utf8")) as { svc?: { cli?: string; commands?: readonly Listed[] } };
  return svc?.cli ? [{ name, cli: join(root, "plugins", name, svc.cli), listed: svc.commands ?? [] }] : [];
});

describe("the commands of plugins", () => {
  for (const { name, cli, listed } of plugins)
    it(`of ${name} are those of its package.json, each with an example`, async () => {
      const { default: commands } = (await import(cli)) as { default: readonly Command[] };
      const pairs = (all: readonly Listed[]) => all.map((one) => `${one.name}: ${one.summary}`).sort();
      assert.deepEqual(pairs(commands), pairs(listed.filter(({ isGroup }) => isGroup !== true)));
      for (const command of commands) assert.ok((command.examples ?? []).length > 0, command.name);
    });
});
