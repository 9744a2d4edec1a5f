/** A configuration file in a directory that vanishes with its test. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Environment, type Paths, resolvePaths } from "../../../host/config/paths.ts";
import type { SectionOwner } from "../../../host/config/sections.ts";
import { createConfigStore } from "../../../host/config/store.ts";

export function tempDirectory(t: Pick<TestContext, "after">): string {
  const directory = mkdtempSync(join(tmpdir(), "svc-config-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Paths of a state directory whose `svc.json` holds `text`; without `text` there is no such file. */
export function configFile(t: Pick<TestContext, "after">, text?: string): Paths {
  const paths = resolvePaths({ SVC_STATE_DIR: tempDirectory(t) });
  if (text !== undefined) writeFileSync(paths.configPath, text);
  return paths;
}

/** What the gateway tells about a configuration file. */
export async function snapshotOf(
  t: Pick<TestContext, "after">,
  text: string | undefined,
  { owners = [], env = {} }: { owners?: readonly SectionOwner[]; env?: Environment } = {},
) {
  const paths = configFile(t, text);
  return createConfigStore({ paths, env, version: "1.2.3", owners: () => owners }).snapshot();
}
