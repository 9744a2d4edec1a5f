/** Derives device tokens, which are never stored. Pure except for the cryptography. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { TokenRecord } from "./records.ts";

/** The inputs of a token value in addition to the key. */
type TokenSource = Pick<TokenRecord, "deviceId" | "role" | "salt">;

/** 43 characters, base64url of 32 bytes. Spec: protocol/frames-and-connect.md §11 "Device token issue". */
export function tokenValue(key: Uint8Array, { deviceId, role, salt }: TokenSource): string {
  const source = JSON.stringify(["device-token", deviceId, role, salt]);
  return createHmac("sha256", key).update(source).digest("base64url");
}

/** Compares in constant time, whatever the length of `given`. */
export function isTokenValue(key: Uint8Array, source: TokenSource, given: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(tokenValue(key, source)), digest(given));
}

/** A new salt makes a new token. */
export function newSalt(): string {
  return randomBytes(18).toString("base64url");
}

/** A fingerprint that distinguishes keys without disclosing them. */
export function keyMark(key: Uint8Array): string {
  return createHmac("sha256", key).update("mark").digest("base64url").slice(0, 16);
}
