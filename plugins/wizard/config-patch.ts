/** Writes what a part has set up to the configuration. */
import type { ConfigStore, ConfigWritten } from "@svc/sdk/config";

/** Choice: attempts while other writers change the file. */
const ATTEMPTS = 5;

/**
 * Applies a merge patch to the file as it is now. The caller schedules a restart that the changed keys need.
 * @throws GatewayError `INVALID_REQUEST` naming what is wrong with the values; `UNAVAILABLE`: the file cannot be written
 */
export async function writePatch(
  store: Pick<ConfigStore, "snapshot" | "write">,
  actor: string,
  patch: Readonly<Record<string, unknown>>,
): Promise<ConfigWritten> {
  for (let attempt = 1; ; attempt++) {
    const { exists, hash } = await store.snapshot();
    try {
      return await store.write({
        mode: "patch",
        raw: JSON.stringify(patch),
        actor,
        action: "wizard",
        restartsItself: true,
        ...(exists ? { baseHash: hash } : {}),
      });
    } catch (error) {
      // Another writer was first: the patch still applies to its text.
      const isConflict = (await store.snapshot()).hash !== hash;
      if (!isConflict || attempt === ATTEMPTS) throw error;
    }
  }
}
