/** A gateway with TLS, over real sockets. Spec: spec/README.md "TLS". */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { connect as connectTls } from "node:tls";
import { definePlugin } from "@svc/sdk";
import { type ClientOptions, connect } from "@svc/sdk/client";
import { ConfigStore } from "@svc/sdk/config";
import { createFakeClock } from "@svc/sdk/testing";
import { effectiveOrigins } from "../../../../host/auth/origins.ts";
import { createGateway } from "../../../../host/gateway.ts";
import { LOOK_MS } from "../../../../host/net/tls/port-certificate.ts";
import { directoryOf } from "../../kernel/reload-scene.ts";
import { sharedScene } from "../host-scene.ts";
import { exchange } from "../http-exchange.ts";
import { writeCertificate } from "./certificates.ts";

const limited = { timeout: 120_000 };

async function start(t: TestContext, tls: object = {}) {
  const stateDir = await directoryOf(t, "svc-tls-");
  const gatewaySection = { auth: { token: "t" }, tls: { enabled: true, ...tls } };
  writeFileSync(join(stateDir, "svc.json"), JSON.stringify({ gateway: gatewaySection }));
  let store: ConfigStore | undefined;
  const editor = definePlugin({
    id: "editor",
    api: "^1.0.0",
    requires: { config: ConfigStore },
    setup: (own) => own.start(() => void (store = own.services.config)),
  });
  const clock = createFakeClock(Date.now());
  const gateway = await createGateway({
    env: {},
    port: 0,
    stateDir,
    plugins: [editor],
    logLevel: "silent",
    clock,
    drainMs: 10,
  });
  t.after(() => gateway.stop());
  const reach = (options: Partial<ClientOptions> = {}) =>
    connect({
      url: gateway.url,
      token: "t",
      ...(gateway.tlsFingerprint === undefined ? {} : { tlsFingerprint: gateway.tlsFingerprint }),
      ...options,
    });
  const edit = (path: string, value: unknown) =>
    store?.edit({ actor: "test", action: "test" }, () => [{ path: path.split("."), value }]);
  return { gateway, stateDir, clock, reach, edit };
}

/** SHA-256 of the certificate that new sockets get. */
async function shown(port: number, options: object = {}): Promise<string> {
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

describe("a TLS port [H3.9]", limited, () => {
  const scene = sharedScene((t) => start(t));

  it("generates a certificate, and reports its file and fingerprint", async () => {
    const { gateway, stateDir, reach } = scene();
    assert.equal(gateway.url, `wss://127.0.0.1:${gateway.port}`);
    assert.equal(await shown(gateway.port), gateway.tlsFingerprint);
    const report = JSON.parse(readFileSync(join(stateDir, "startup-report.json"), "utf8")) as Record<string, unknown>;
    assert.deepEqual([report["url"], report["tlsFingerprint"]], [gateway.url, gateway.tlsFingerprint]);
    const client = await reach();
    assert.equal(client.hello.protocol, 3);
    await client.close();
  });

  it("serves HTTPS to clients that trust the certificate, by name and by address", async () => {
    const ca = readFileSync(join(scene().stateDir, "tls/gateway-cert.pem"));
    for (const host of ["localhost", "127.0.0.1"]) {
      const request = get({ host, port: scene().gateway.port, path: "/healthz", ca, family: 4 });
      const [response] = (await once(request, "response")) as [{ statusCode?: number; resume(): void }];
      response.resume();
      assert.equal(response.statusCode, 200);
    }
  });

  it("refuses plain HTTP, and names the right scheme", async () => {
    const { port } = scene().gateway;
    const { status, body, closed } = await exchange(port, { target: "/healthz" });
    assert.deepEqual([status, closed], [400, true]);
    assert.match(body, /speaks TLS. Use https:\/\/ or wss:\/\//);
    await assert.rejects(connect({ url: `ws://127.0.0.1:${port}`, token: "t" }), { code: "UNAVAILABLE" });
  });

  it("refuses versions older than TLS 1.2", async () => {
    const { gateway } = scene();
    const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    await assert.rejects(shown(gateway.port, old));
    assert.equal(await shown(gateway.port, { maxVersion: "TLSv1.2" }), gateway.tlsFingerprint);
  });

  it("admits pages by its own https origins", () => {
    const section = { bind: "custom", customBindHost: "10.0.0.5", tls: { enabled: true } } as const;
    assert.deepEqual(effectiveOrigins(section, 7), [
      "https://localhost:7",
      "https://127.0.0.1:7",
      "https://10.0.0.5:7",
    ]);
  });
});

describe("a client", limited, () => {
  const scene = sharedScene((t) => start(t));

  it("refuses a certificate with another fingerprint, sends nothing, and does not reconnect", async () => {
    const { gateway, reach } = scene();
    const other = gateway.tlsFingerprint?.replace(/^../, (byte) => (byte === "00" ? "FF" : "00")) ?? "";
    await assert.rejects(reach({ tlsFingerprint: other, reconnect: true }), (error: Error & { details?: unknown }) => {
      assert.deepEqual(error.details, { code: "TLS_FINGERPRINT_MISMATCH" });
      assert.ok(error.message.includes(gateway.tlsFingerprint ?? "?"), error.message);
      return true;
    });
    assert.deepEqual(gateway.connections(), []);
  });

  it("accepts the fingerprint in every spelling", async () => {
    const plain = scene().gateway.tlsFingerprint?.replaceAll(":", "") ?? "";
    for (const tlsFingerprint of [plain, plain.toLowerCase(), `sha256:${plain}`])
      await (await scene().reach({ tlsFingerprint })).close();
  });

  it("without the fingerprint refuses a certificate of an untrusted issuer", () =>
    assert.rejects(connect({ url: scene().gateway.url, token: "t" }), { details: { code: "TLS_UNTRUSTED" } }));

  it("with a fingerprint does not connect without TLS", async () => {
    const refused = connect({ url: "ws://127.0.0.1:1", tlsFingerprint: "00" });
    await assert.rejects(refused, { details: { code: "TLS_FINGERPRINT_MISMATCH" } });
  });
});

describe("the files of a running gateway", limited, () => {
  it("are read again when they change; open connections stay", async (t) => {
    const directory = await directoryOf(t, "svc-tls-files-");
    const files = writeCertificate(directory);
    const { gateway, clock, reach, stateDir } = await start(t, { certPath: files.certPath, keyPath: files.keyPath });
    const before = gateway.tlsFingerprint;
    const client = await reach();
    const next = writeCertificate(join(directory, "next"));
    writeFileSync(files.certPath, next.cert);
    await clock.advance(LOOK_MS);
    assert.equal(await shown(gateway.port), before, "half a pair changes nothing");
    writeFileSync(files.keyPath, next.key);
    await clock.advance(LOOK_MS);
    assert.notEqual(gateway.tlsFingerprint, before);
    assert.equal(await shown(gateway.port), gateway.tlsFingerprint);
    const report = JSON.parse(readFileSync(join(stateDir, "startup-report.json"), "utf8")) as Record<string, unknown>;
    assert.equal(report["tlsFingerprint"], gateway.tlsFingerprint);
    assert.equal(gateway.connections().length, 1);
    await client.close();
  });

  it("are replaced at once when the configuration names others, which must be valid", async (t) => {
    const directory = await directoryOf(t, "svc-tls-files-");
    const one = writeCertificate(directory, "one");
    const two = writeCertificate(directory, "two");
    const { gateway, edit } = await start(t, { certPath: one.certPath, keyPath: one.keyPath });
    const before = gateway.tlsFingerprint;
    await assert.rejects(
      Promise.resolve(edit("gateway.tls.certPath", two.certPath)),
      /is not the key of the certificate/,
    );
    await edit("gateway.tls", { enabled: true, certPath: two.certPath, keyPath: two.keyPath });
    assert.notEqual(gateway.tlsFingerprint, before);
    assert.equal(await shown(gateway.port), gateway.tlsFingerprint);
  });

  it("that cannot be used refuse the start, naming the file and the next step", async (t) => {
    const tls = { certPath: "/nowhere/cert.pem", keyPath: "/nowhere/key.pem" };
    await assert.rejects(start(t, tls), {
      name: "StartupRefusal",
      message: /^gateway\.tls\.certPath: \/nowhere\/cert\.pem: no such file\nNext: put the file there/,
    });
  });
});
