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
  return isSame(tokenValue(key, source), given);
}

/** What is stored of a token that another gateway issued. It discloses nothing, and admits nobody. */
export function adoptedDigest(key: Uint8Array, value: string): string {
  return createHmac("sha256", key)
    .update(JSON.stringify(["adopted", value]))
    .digest("base64url");
}

/** Compares as `isTokenValue`. @param adopted result of `adoptedDigest` */
export function isAdoptedValue(key: Uint8Array, adopted: string, given: string): boolean {
  return isSame(adopted, adoptedDigest(key, given));
}

function isSame(expected: string, given: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}

/** A new salt makes a new token. */
export function newSalt(): string {
  return randomBytes(18).toString("base64url");
}

/** A fingerprint that distinguishes keys without disclosing them. */
export function keyMark(key: Uint8Array): string {
  return createHmac("sha256", key).update("mark").digest("base64url").slice(0, 16);
}
