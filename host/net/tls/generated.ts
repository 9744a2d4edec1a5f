/** The self-signed certificate that the gateway generates and stores below the state directory. */
import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { StartupRefusal } from "../../auth/settings.ts";
import { type Certificate, type CertificateFiles, readCertificate } from "./certificate.ts";
import { lazy } from "@svc/sdk";

const makerCode = lazy(() => import("./self-signed.ts"));

const DAY_MS = 86_400_000;
/** Choice: the longest lifetime that every platform accepts; each renewal changes the fingerprint that clients know. */
const LIFETIME_MS = 825 * DAY_MS;
/** Choice: the certificate is renewed this long before it expires. */
const RENEW_MS = 30 * DAY_MS;
/** For clients whose clock is behind. */
const SKEW_MS = DAY_MS;

/**
 * Returns the stored certificate while it is usable, else a new one.
 * Choice: a stored one stays when the machine gets other names or addresses, since clients know its fingerprint.
 * @param addresses the gateway listens on. @throws StartupRefusal the files cannot be written
 */
export async function keepGenerated(
  files: CertificateFiles,
  addresses: readonly string[],
  now: number,
): Promise<Certificate> {
  const kept = usable(files, now);
  if (kept) return kept;
  const { makeSelfSigned } = await makerCode();
  const { cert, key } = makeSelfSigned({ names: namesOf(addresses), from: now - SKEW_MS, to: now + LIFETIME_MS });
  try {
    mkdirSync(dirname(files.keyPath), { recursive: true, mode: 0o700 });
    replace(files.keyPath, key);
    replace(files.certPath, cert);
  } catch (error) {
    const next = "make the state directory writable, or set gateway.tls.certPath and gateway.tls.keyPath";
    throw new StartupRefusal(
      `the generated TLS certificate cannot be stored: ${(error as Error).message}\nNext: ${next}`,
    );
  }
  return readCertificate(files, now);
}

function usable(files: CertificateFiles, now: number): Certificate | undefined {
  try {
    return readCertificate(files, now + RENEW_MS);
  } catch (error) {
    if (error instanceof StartupRefusal) return undefined;
    throw error;
  }
}

/** Atomic: a concurrent reader gets the old file or the new one. */
function replace(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}.tmp`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}

/** Names for the certificate; an address that means all interfaces adds the addresses the machine has now. */
function namesOf(addresses: readonly string[]): string[] {
  const isEverywhere = addresses.some((address) => address === "0.0.0.0" || address === "::");
  const own = isEverywhere
    ? Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address))
    : [];
  const plain = [...addresses, ...own].filter((address) => address !== "0.0.0.0" && !address.includes("%"));
  const host = /^[a-z0-9.-]+$/i.test(hostname()) ? [hostname()] : [];
  return [...new Set(["localhost", "127.0.0.1", "::1", ...plain, ...host])];
}
