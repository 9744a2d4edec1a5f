/** `credentials/imported.json`: imported secrets by id, in a private file. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readPrivateJson } from "@svc/kit/files";
import { messageOf, unavailable } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { ImportOutcome, SecretRecord } from "@svc/sdk/import";

const MAX_BYTES = 1_048_576; // default of the source `file`, which reads it

/** @throws GatewayError `UNAVAILABLE` if the file cannot be read or written */
export async function takeSecrets(stateDir: string, records: readonly SecretRecord[]): Promise<ImportOutcome[]> {
  const stored = await read(stateDir);
  const outcomes = records.map(({ id, value }): ImportOutcome => {
    if (stored.has(id)) return { id, action: "skip", reason: "a secret with this id is stored already" };
    stored.set(id, value);
    return { id, action: "take" };
  });
  if (outcomes.every(({ action }) => action === "skip")) return outcomes;
  const path = pathIn(stateDir);
  const text = `${JSON.stringify(Object.fromEntries(stored), null, 2)}\n`;
  if (Buffer.byteLength(text) > MAX_BYTES)
    unavailable(`${path} would have more than ${MAX_BYTES} bytes; import fewer secrets`);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text).catch((cause: unknown) =>
    unavailable(`${path} cannot be written (${messageOf(cause)}); check the disk, then import again`, { cause }),
  );
  return outcomes;
}

export async function countSecrets(stateDir: string): Promise<number> {
  return (await read(stateDir)).size;
}

async function read(stateDir: string): Promise<Map<string, unknown>> {
  const path = pathIn(stateDir);
  const stored = await readPrivateJson(path, { maxBytes: MAX_BYTES, denied: 0o066 }).catch((cause: unknown) =>
    unavailable(`${path} cannot be used: ${messageOf(cause)}; correct or remove it, then import again`, { cause }),
  );
  return new Map(Object.entries(Object(stored) as object));
}

function pathIn(stateDir: string): string {
  return join(stateDir, "credentials", "imported.json");
}
