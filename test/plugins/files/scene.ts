/** Two gateways with a workspace each, on one database and one store of bytes. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { createManifest } from "../../../plugins/files/manifest.ts";
import { type Objects, objectsInDirectory } from "../../../plugins/files/objects.ts";
import { SharedWorkspaces } from "../../../plugins/files/shared-workspaces.ts";
import { createFakeClock } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { memoryStorage } from "../channels/memory-storage.ts";

export interface SceneOptions {
  readonly objects?: (objects: Objects) => Objects;
  readonly maxFileBytes?: number;
  readonly keepOrigins?: (paths: readonly string[]) => Promise<void>;
}

export function scene(t: TestContext, options: SceneOptions = {}) {
  const place = directory(t);
  const clock = createFakeClock(Date.parse("2026-01-02T03:04:05Z"));
  const memory = memoryStorage();
  const manifest = createManifest(memory.storage, clock);
  const inPlace = objectsInDirectory(join(place, "objects"));
  const objects = options.objects?.(inPlace) ?? inPlace;
  const ending = new AbortController();
  t.after(() => ending.abort());

  /** @param workspace below the directory of the test */
  function gateway(name: string, workspace = `${name}/workspace`) {
    const root = join(place, workspace);
    const warnings: string[] = [];
    const announced: string[] = [];
    const asked: string[] = [];
    const log = {
      warn: (fields: object, text: string) => void warnings.push(`${text} ${JSON.stringify(fields)}`),
      info: () => undefined,
    };
    const open = () =>
      new SharedWorkspaces({
        manifest,
        objects,
        maxFileBytes: options.maxFileBytes ?? 1_000_000,
        ignore: new Set([".git", "node_modules"]),
        keepOrigins: async (_workspace, paths) => options.keepOrigins?.(paths),
        gateway: name,
        agents: () => [{ id: "main", isDefault: true, workspace: root }],
        baseFile: (agentId) => join(place, name, "base", `${agentId}.json`),
        isAlone: () => false,
        announce: (agentId) => void announced.push(agentId),
        askFor: (_agentId, paths) => void asked.push(...paths),
        clock,
        log,
        signal: ending.signal,
      });
    let shared = open();
    const at = (path: string) => join(root, path);
    return {
      root,
      warnings,
      announced,
      asked,
      restore: (paths: readonly string[]) => shared.restore("main", paths),
      pull: () => shared.pull("main"),
      push: () => shared.push("main"),
      forget: () => shared.forget("main"),
      status: () => shared.status()[0],
      /** As after a restart. */
      restart: () => void (shared = open()),
      write(path: string, content: string | Buffer, mode = 0o600) {
        mkdirSync(dirname(at(path)), { recursive: true });
        writeFileSync(at(path), content, { mode });
      },
      read: (path: string) => readFileSync(at(path), "utf8"),
      remove: (path: string) => rmSync(at(path), { recursive: true }),
      mode: (path: string) => statSync(at(path)).mode & 0o777,
      /** Paths of all files, sorted. */
      files: () =>
        (readdirSync(root, { recursive: true, withFileTypes: true }) as { name: string; parentPath: string }[])
          .flatMap((entry) => {
            const path = join(entry.parentPath, entry.name);
            return statSync(path, { throwIfNoEntry: false })?.isFile() ? [path.slice(root.length + 1)] : [];
          })
          .toSorted(),
    };
  }
  return { place, clock, memory, manifest, objects: inPlace, a: gateway("a"), b: gateway("b"), gateway };
}
