/** A configuration file in a temporary directory, deleted after the test. */
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

/** Paths of a state directory whose `svc.json` contains `text`; without `text` the file does not exist. */
export function configFile(t: Pick<TestContext, "after">, text?: string): Paths {
  const paths = resolvePaths({ SVC_STATE_DIR: tempDirectory(t) });
  if (text !== undefined) writeFileSync(paths.configPath, text);
  return paths;
}

/** The gateway's description of a configuration file. */
export async function snapshotOf(
  t: Pick<TestContext, "after">,
  text: string | undefined,
  { owners = [], env = {} }: { owners?: readonly SectionOwner[]; env?: Environment } = {},
) {
  const paths = configFile(t, text);
  return createConfigStore({ paths, env, version: "1.2.3", owners: () => owners }).snapshot();
}
