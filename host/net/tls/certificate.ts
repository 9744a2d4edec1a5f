/** The certificate of a TLS port: locates, reads and checks its files. */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { StartupRefusal } from "../../auth/settings.ts";

/** `gateway.tls`. */
export interface TlsSettings {
  readonly enabled?: boolean | undefined;
  readonly autoGenerate?: boolean | undefined;
  readonly certPath?: string | undefined;
  readonly keyPath?: string | undefined;
  readonly caPath?: string | undefined;
}

/** Directories for resolving the paths of the settings. */
export interface TlsPlaces {
  readonly configDir: string;
  readonly stateDir: string;
  /** Directory that `~` stands for. */
  readonly home: string;
}

/** Absolute paths of PEM files. */
export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
  /** File with the intermediate certificates between the certificate and its root. */
  readonly caPath?: string;
  /** The gateway generates and renews the files. */
  readonly isGenerated: boolean;
}

export interface Certificate {
  readonly options: SecureContextOptions;
  /** SHA-256, as `AB:CD:...`. */
  readonly fingerprint: string;
  /** epoch ms */
  readonly endsAt: number;
  /** Differs when the content of a file differs. */
  readonly digest: string;
}

/**
 * Choice: paths are relative to the directory of the configuration file; configured files are never written. Without any
 * path, a certificate is generated below the state directory, unless `autoGenerate` is false.
 * @throws StartupRefusal the keys contradict each other
 */
export function certificateFiles(settings: TlsSettings, { configDir, stateDir, home }: TlsPlaces): CertificateFiles {
  const { autoGenerate = true, certPath, keyPath, caPath } = settings;
  const place = (path: string) =>
    resolve(
      configDir,
      path.replace(/^~(?=\/|$)/, () => home),
    );
  if (certPath !== undefined && keyPath !== undefined) {
    const ca = caPath === undefined ? {} : { caPath: place(caPath) };
    return { certPath: place(certPath), keyPath: place(keyPath), ...ca, isGenerated: false };
  }
  const single = Object.entries({ certPath, keyPath, caPath }).find(([, path]) => path !== undefined)?.[0];
  if (single !== undefined) {
    const next =
      "set both gateway.tls.certPath and gateway.tls.keyPath, or remove all paths to have a certificate generated";
    throw new StartupRefusal(`gateway.tls.${single} is set without its counterparts\nNext: ${next}`);
  }
  if (!autoGenerate) {
    const next = "set gateway.tls.certPath and gateway.tls.keyPath, or remove gateway.tls.autoGenerate";
    throw new StartupRefusal(
      `gateway.tls is enabled without a certificate, and gateway.tls.autoGenerate is off\nNext: ${next}`,
    );
  }
  const directory = join(stateDir, "tls");
  return {
    certPath: join(directory, "gateway-cert.pem"),
    keyPath: join(directory, "gateway-key.pem"),
    isGenerated: true,
  };
}

/** @param now epoch ms. @throws StartupRefusal naming the file: unreadable, not PEM, not a pair, expired */
export function readCertificate({ certPath, keyPath, caPath }: CertificateFiles, now: number): Certificate {
  const [cert, key] = [read("certPath", certPath), read("keyPath", keyPath)];
  const ca = caPath === undefined ? undefined : read("caPath", caPath);
  const certificate = parse("certPath", certPath, "a certificate", () => new X509Certificate(cert));
  const privateKey: KeyObject = parse("keyPath", keyPath, "a private key without a passphrase", () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    const next = "set the private key that belongs to the certificate";
    throw new StartupRefusal(
      `gateway.tls.keyPath: ${keyPath} is not the key of the certificate ${certPath}\nNext: ${next}`,
    );
  }
  const endsAt = Date.parse(certificate.validTo);
  if (endsAt <= now) {
    const next = "renew it, or remove gateway.tls.certPath and keyPath to have one generated";
    throw new StartupRefusal(`gateway.tls.certPath: ${certPath} expired on ${certificate.validTo}\nNext: ${next}`);
  }
  const options: SecureContextOptions = { cert, key, ...(ca ? { ca } : {}), minVersion: "TLSv1.2" };
  if (ca !== undefined) parse("caPath", caPath ?? "", "a certificate", () => new X509Certificate(ca));
  parse("certPath", certPath, "a certificate that can be used", () => createSecureContext(options));
  const digest = createHash("sha256")
    .update(JSON.stringify([cert, key, ca]))
    .digest("hex");
  return { options, fingerprint: certificate.fingerprint256, endsAt, digest };
}

/** @returns why a start would refuse these settings; `undefined`: it would not. Creates nothing. */
export function tlsRefusal(settings: TlsSettings, places: TlsPlaces, now: number): string | undefined {
  if (settings.enabled !== true) return undefined;
  try {
    const files = certificateFiles(settings, places);
    if (!files.isGenerated) readCertificate(files, now);
    return undefined;
  } catch (error) {
    if (error instanceof StartupRefusal) return error.message;
    throw error;
  }
}

function read(key: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [why, next] =
      code === "ENOENT"
        ? ["no such file", `put the file there, or correct gateway.tls.${key}`]
        : [message, "make it readable for the user that runs the gateway"];
    throw new StartupRefusal(`gateway.tls.${key}: ${path}: ${why}\nNext: ${next}`);
  }
}

function parse<T>(key: string, path: string, what: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const why = `is not ${what} in PEM (${(error as Error).message})`; // of node:crypto
    throw new StartupRefusal(
      `gateway.tls.${key}: ${path} ${why}\nNext: replace the file, or correct gateway.tls.${key}`,
    );
  }
}
