/** The text that a device signs to prove itself, shared by the signing and the verifying side. Spec: protocol/frames-and-connect.md §6. Pure. */
import type { ConnectParams } from "./connect.ts";

/** The parts of a proof that are signed. */
type Signed = Pick<NonNullable<ConnectParams["device"]>, "id" | "signedAt" | "nonce">;

/** The texts that a client may have signed: version 3, then version 2. @param params as sent, aliases unresolved */
export function devicePayloads(
  { client, role = "operator", scopes = [], auth }: ConnectParams,
  { id, signedAt, nonce }: Signed,
): [v3: string, v2: string] {
  const token = auth?.token ?? auth?.deviceToken ?? "";
  const rest = [id, client.id, client.mode, role, scopes.join(","), signedAt, token, nonce.trim()];
  const lower = (text: string | undefined) => (text ?? "").trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const v3 = ["v3", ...rest, lower(client.platform), lower(client.deviceFamily)].join("|");
  return [v3, ["v2", ...rest].join("|")];
}
