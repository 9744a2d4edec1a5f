/** Detects at the start that the key of the device tokens has changed. */
import type { Logger } from "@svc/sdk";
import type { Storage } from "@svc/sdk/storage";
import { keyMark } from "./token-value.ts";

const NAME = "token-key";

/** Logs once that all tokens are invalid when the key was lost or replaced. */
export async function noteTokenKey(options: {
  readonly storage: Storage;
  readonly key: Uint8Array;
  readonly log: Logger;
}): Promise<void> {
  const { storage, key, log } = options;
  const mark = keyMark(key);
  const known = await storage.get<{ value: string }>("SELECT value FROM devices_facts WHERE name = ?", [NAME]);
  if (known?.value === mark) return;
  const tokens = await storage.get<{ n: number | bigint }>("SELECT count(*) AS n FROM devices_tokens");
  if (known && Number(tokens?.n ?? 0) > 0)
    log.warn(
      { tokens: Number(tokens?.n ?? 0) },
      "the key of the device tokens has changed, so all device tokens are invalid; a device gets a new one when it connects with the gateway's token or password, or by: svc devices rotate <deviceId> <role>",
    );
  await storage.transaction([
    {
      sql: "INSERT INTO devices_facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      params: [NAME, mark],
    },
  ]);
}
