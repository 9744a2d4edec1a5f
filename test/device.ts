/** A device with its own key, for connections of tests. Spec: protocol/frames-and-connect.md §6. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { connectFrame, type RawSocket } from "./raw-socket.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");

/** Id of the device of this test process. */
export const DEVICE_ID = createHash("sha256").update(raw).digest("hex");

export interface DeviceConnect {
  readonly role?: "operator" | "node";
  readonly scopes?: readonly string[];
  readonly token?: string | undefined;
  /** Default platform: linux. */
  readonly client?: { readonly id: string; readonly mode: string; readonly platform?: string };
}

/** A `connect` with a version 3 proof for the challenge that this socket received. */
export function deviceConnect(socket: RawSocket, options: DeviceConnect = {}): Record<string, unknown> {
  const { role = "operator", scopes = [], token, client: named = { id: "cli", mode: "cli" } } = options;
  const { id, mode, platform = "linux" } = named;
  const nonce = String(socket.frames.find(({ event }) => event === "connect.challenge")?.payload?.["nonce"]);
  const signedAt = Date.now();
  const client = { id, mode, version: "1", platform };
  const payload = [
    "v3",
    DEVICE_ID,
    id,
    mode,
    role,
    scopes.join(","),
    signedAt,
    token ?? "",
    nonce,
    platform.toLowerCase(),
    "",
  ].join("|");
  const signature = sign(null, Buffer.from(payload), privateKey).toString("base64url");
  const device = { id: DEVICE_ID, publicKey: raw.toString("base64url"), signature, signedAt, nonce };
  return connectFrame(token, { client, role, scopes, device });
}
