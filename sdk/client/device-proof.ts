/** Proves a device to a gateway. Spec: protocol/frames-and-connect.md §6. Pure. */
import type { ConnectParams } from "../protocol/connect.ts";
import { devicePayloads } from "../protocol/device-payload.ts";

/** A device of this client. */
export interface DeviceIdentity {
  /** Hex SHA-256 of the public key. */
  readonly id: string;
  /** Base64url of the 32 bytes of the public key. */
  readonly publicKey: string;
  /** Base64url Ed25519 signature of a text. WebCrypto, where the key never leaves the browser, returns a promise. */
  sign(text: string): string | Promise<string>;
}

/** The proof for one challenge, version 3. @param params as sent */
export async function proveDevice(
  device: DeviceIdentity,
  params: ConnectParams,
  nonce: string,
  now: number,
): Promise<NonNullable<ConnectParams["device"]>> {
  const [text] = devicePayloads(params, { id: device.id, signedAt: now, nonce });
  return { id: device.id, publicKey: device.publicKey, signature: await device.sign(text), signedAt: now, nonce };
}
