/** Certificates of tests, as files in a temporary directory. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeSelfSigned } from "../../../../host/net/tls/self-signed.ts";

const DAY_MS = 86_400_000;

/** Writes `<name>-cert.pem` and `<name>-key.pem`. @param days from now to its expiry */
export function writeCertificate(directory: string, name = "own", days = 100) {
  mkdirSync(directory, { recursive: true });
  const now = Date.now();
  const pair = makeSelfSigned({
    names: ["localhost", "127.0.0.1"],
    from: now - 10 * DAY_MS,
    to: now + days * DAY_MS,
  });
  const paths = { certPath: join(directory, `${name}-cert.pem`), keyPath: join(directory, `${name}-key.pem`) };
  writeFileSync(paths.certPath, pair.cert);
  writeFileSync(paths.keyPath, pair.key);
  return { ...paths, ...pair };
}
