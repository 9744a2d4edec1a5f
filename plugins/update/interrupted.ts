/** `svc update doctor`: finds interrupted updates. Read-only. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DoctorFinding } from "@svc/sdk/cli";
import { WORK_PREFIX } from "./install/outcome.ts";
import { placeOf } from "./install/place.ts";

/** Reports directories of killed updates. The former version still starts after a killed update. */
export async function interruptedUpdates(hostDirectory: string | undefined): Promise<DoctorFinding[]> {
  if (hostDirectory === undefined) return [];
  const { root } = placeOf(hostDirectory);
  if (existsSync(join(root, ".svc-update.lock"))) return []; // an update is running, or the next one cleans up
  const left = (await readdir(root)).filter((name) => name.startsWith(WORK_PREFIX));
  return left.map((name) => ({
    severity: "warning",
    check: "update",
    about: join(root, name),
    message: "an interrupted update left it behind",
    next: `svc --version; if that works: rm -r ${join(root, name)}, then svc update`,
  }));
}
