/** Proving a device to a gateway. Spec: protocol/frames-and-connect.md §6. Pure. */
import type { ConnectParams } from "../protocol/connect.ts";

/** A device of this client. */
export interface DeviceIdentity {
  /** Hex SHA-256 of the public key. */
  readonly id: string;
  /** Base64url of its 32 bytes. */
  readonly publicKey: string;
  /** Base64url Ed25519 signature of a text. */
  sign(text: string): string;
}

/** The proof for one challenge, version 3. @param params as they will be sent */
export function proveDevice(
  device: DeviceIdentity,
  params: ConnectParams,
  nonce: string,
  now: number,
): NonNullable<ConnectParams["device"]> {
  const { client, role = "operator", scopes = [], auth } = params;
  const token = auth?.token ?? auth?.deviceToken ?? "";
  const lower = (text: string | undefined) => (text ?? "").trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const text = [
    "v3",
    device.id,
    client.id,
    client.mode,
    role,
    scopes.join(","),
    now,
    token,
    nonce,
    lower(client.platform),
    lower(client.deviceFamily),
  ].join("|");
  return { id: device.id, publicKey: device.publicKey, signature: device.sign(text), signedAt: now, nonce };
}
