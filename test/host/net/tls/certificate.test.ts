/** The certificate of a port, and why a certificate is refused. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { certificateFiles, readCertificate, type TlsSettings } from "../../../../host/net/tls/certificate.ts";
import { keepGenerated } from "../../../../host/net/tls/generated.ts";
import { LOOK_MS, PortCertificate } from "../../../../host/net/tls/port-certificate.ts";
import { directoryOf } from "../../kernel/reload-scene.ts";
import { writeCertificate } from "./certificates.ts";

const DAY_MS = 86_400_000;
const places = { configDir: "/etc/svc", stateDir: "/var/svc", home: "/home/ada" };

describe("the files of the certificate", () => {
  it("are the configured ones, relative to the configuration, or generated ones below the state directory", () => {
    assert.deepEqual(certificateFiles({ certPath: "c.pem", keyPath: "~/k.pem", caPath: "/ca.pem" }, places), {
      certPath: "/etc/svc/c.pem",
      keyPath: "/home/ada/k.pem",
      caPath: "/ca.pem",
      isGenerated: false,
    });
    assert.deepEqual(certificateFiles({ enabled: true }, places), {
      certPath: "/var/svc/tls/gateway-cert.pem",
      keyPath: "/var/svc/tls/gateway-key.pem",
      isGenerated: true,
    });
  });

  const refused: [settings: TlsSettings, why: RegExp][] = [
    [{ certPath: "c.pem" }, /^gateway\.tls\.certPath is set without its counterparts\nNext: .*keyPath/],
    [{ keyPath: "k.pem" }, /^gateway\.tls\.keyPath is set without/],
    [{ caPath: "ca.pem" }, /^gateway\.tls\.caPath is set without/],
    [{ autoGenerate: false }, /gateway\.tls\.autoGenerate is off\nNext: .*certPath/],
  ];
  for (const [settings, message] of refused) {
    it(`are refused: ${JSON.stringify(settings)}`, () => {
      assert.throws(() => certificateFiles(settings, places), { name: "StartupRefusal", message });
    });
  }
});

describe("a configured certificate", () => {
  const rows: [why: string, spoil: (directory: string) => object, message: RegExp][] = [
    [
      "no such file",
      () => ({ certPath: "/nowhere.pem" }),
      /^gateway\.tls\.certPath: \/nowhere\.pem: no such file\nNext: /,
    ],
    ["a directory", (directory) => ({ keyPath: directory }), /^gateway\.tls\.keyPath: .*EISDIR.*\nNext: /],
    [
      "the key of another certificate",
      (directory) => ({ keyPath: writeCertificate(directory, "other").keyPath }),
      /is not the key of/,
    ],
    ["no certificate", (directory) => ({ certPath: textFile(directory) }), /certPath: .* is not a certificate in PEM/],
    ["no key", (directory) => ({ keyPath: textFile(directory) }), /keyPath: .* is not a private key .* in PEM/],
    [
      "no chain",
      (directory) => ({ caPath: textFile(directory, "-----BEGIN CERTIFICATE-----\nx\n") }),
      /caPath: .* is not a certificate in PEM/,
    ],
    [
      "an expired certificate",
      (directory) => writeCertificate(directory, "old", -1),
      /old-cert\.pem expired on .*\nNext: renew it/,
    ],
  ];
  for (const [why, spoil, message] of rows) {
    it(`is refused with the file and the next step: ${why}`, async (t) => {
      const directory = await directoryOf(t, "svc-tls-");
      const files = { ...writeCertificate(directory), isGenerated: false, ...spoil(directory) };
      assert.throws(() => readCertificate(files, Date.now()), { name: "StartupRefusal", message });
    });
  }

  it("has the fingerprint that other programs show", async (t) => {
    const files = writeCertificate(await directoryOf(t, "svc-tls-"));
    const { fingerprint } = readCertificate({ ...files, isGenerated: false }, Date.now());
    const shown = execFileSync("openssl", ["x509", "-noout", "-fingerprint", "-sha256", "-in", files.certPath]);
    assert.equal(shown.toString().trim().split("=")[1], fingerprint);
  });
});

function textFile(directory: string, text = "hello"): string {
  const path = join(directory, "text.pem");
  writeFileSync(path, text);
  return path;
}

describe("a generated certificate", () => {
  const at = async (t: TestContext) => ({ ...places, stateDir: await directoryOf(t, "svc-tls-") });

  it("is for this machine and the addresses it listens on, its key is private, and it is stored", async (t) => {
    const files = certificateFiles({}, await at(t));
    const now = Date.now();
    const first = await keepGenerated(files, ["10.1.2.3"], now);
    const certificate = new X509Certificate(readFileSync(files.certPath));
    for (const name of ["localhost"]) assert.equal(certificate.checkHost(name), name);
    for (const address of ["127.0.0.1", "::1", "10.1.2.3"]) assert.equal(certificate.checkIP(address), address);
    assert.equal(statSync(files.keyPath).mode & 0o777, 0o600);
    assert.equal(statSync(join(files.keyPath, "..")).mode & 0o777, 0o700);
    const again = await keepGenerated(files, ["10.9.9.9"], now + 700 * DAY_MS);
    assert.equal(again.fingerprint, first.fingerprint);
  });

  it("is generated again 30 days before it expires, or when it is damaged", async (t) => {
    const files = certificateFiles({}, await at(t));
    const now = Date.now();
    const first = await keepGenerated(files, [], now);
    const second = await keepGenerated(files, [], now + 800 * DAY_MS);
    assert.notEqual(second.fingerprint, first.fingerprint);
    assert.ok(second.endsAt > now + 1_600 * DAY_MS);
    writeFileSync(files.certPath, "half");
    assert.notEqual((await keepGenerated(files, [], now + 800 * DAY_MS)).fingerprint, second.fingerprint);
  });
});

describe("the certificate in use", () => {
  async function open(t: TestContext, days?: number, aheadMs = 0) {
    const directory = await directoryOf(t, "svc-tls-");
    const clock = createFakeClock(Date.now() + aheadMs);
    const warnings: string[] = [];
    const log = { debug() {}, info() {}, warn: (_: object, text: string) => void warnings.push(text), error() {} };
    const files = writeCertificate(directory, "own", days);
    const settings: TlsSettings = { certPath: files.certPath, keyPath: files.keyPath };
    const options = { settings: () => settings, places, addresses: [], clock, log };
    const certificate = await PortCertificate.open(options);
    const told: string[] = [];
    const stop = certificate.follow(({ fingerprint }) => void told.push(fingerprint));
    t.after(stop);
    return { certificate, clock, warnings, told, directory, stop };
  }

  it("follows its files, both of them together", async (t) => {
    const { certificate, clock, told, warnings, directory } = await open(t);
    const before = certificate.current.fingerprint;
    const next = writeCertificate(join(directory, "next"));
    writeFileSync(join(directory, "own-cert.pem"), next.cert); // but not its key yet
    await clock.advance(LOOK_MS);
    assert.equal(certificate.current.fingerprint, before);
    assert.match(
      warnings.join(),
      /^the current TLS certificate stays in use, because the new one is unusable: gateway\.tls\.keyPath: .* is not the key/,
    );
    await clock.advance(3 * LOOK_MS);
    assert.equal(warnings.length, 1, "the same is said once");
    writeFileSync(join(directory, "own-key.pem"), next.key);
    await clock.advance(LOOK_MS);
    assert.deepEqual(told, [new X509Certificate(next.cert).fingerprint256]);
    assert.equal(certificate.current.fingerprint, told[0]);
  });

  it("is warned about once before it expires", async (t) => {
    const { clock, warnings } = await open(t, 20, 6 * DAY_MS - 60_000); // 14 days before its end in a minute
    await clock.advance(LOOK_MS);
    assert.deepEqual(warnings, []);
    await clock.advance(60 * LOOK_MS);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /^the TLS certificate expires on .*; renew it/);
  });
});
