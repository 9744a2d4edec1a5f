/** The device identity of this browser: an Ed25519 key of WebCrypto that cannot be exported. Spec: protocol/frames-and-connect.md §6. */
import type { DeviceIdentity } from "@svc/sdk/client";
import { keep, type KeptGateway, readKept } from "./kept.ts";

/** Why this page cannot prove a device. */
export type NoDevice = "insecure-context" | "no-ed25519" | "no-storage";

export class NoDeviceError extends Error {
  readonly why: NoDevice;
  constructor(why: NoDevice, cause?: unknown) {
    super(why, { cause });
    this.why = why;
  }
}

/**
 * The device of this browser for one gateway, created at the first call. Each gateway gets a key of its own, so that two
 * gateways cannot tell that it is the same browser.
 * @throws NoDeviceError
 */
export async function deviceFor(url: string): Promise<{ readonly device: DeviceIdentity; readonly kept: KeptGateway }> {
  if (!isSecureContext || !("subtle" in crypto)) throw new NoDeviceError("insecure-context");
  const kept = await keptOrNew(url).catch((error: unknown) => {
    throw error instanceof NoDeviceError ? error : new NoDeviceError("no-storage", error);
  });
  const { keys, publicKey, deviceId } = kept;
  const sign = async (text: string) =>
    base64url(await crypto.subtle.sign("Ed25519", keys.privateKey, new TextEncoder().encode(text)));
  return { device: { id: deviceId, publicKey, sign }, kept };
}

async function keptOrNew(url: string): Promise<KeptGateway> {
  const known = await readKept(url);
  if (known) return known;
  let keys: CryptoKeyPair;
  try {
    keys = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  } catch (error) {
    throw new NoDeviceError("no-ed25519", error);
  }
  const raw = await crypto.subtle.exportKey("raw", keys.publicKey); // only the private key is not extractable
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  const deviceId = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const kept: KeptGateway = { url, keys, publicKey: base64url(raw), deviceId };
  await keep(kept);
  return kept;
}

function base64url(bytes: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
