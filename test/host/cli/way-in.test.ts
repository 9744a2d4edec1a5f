/** Access of commands on the gateway's own machine, in every auth mode; and `svc gateway token`. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { home } from "./svc.ts";

const few = { plugins: { use: ["config", "health"] } };
const call = ["gateway", "call", "config.schema"];

describe("a command on the gateway's machine", { timeout: 120_000 }, () => {
  it("has admin access if the password is only in the environment of the gateway, whatever token is stored", async (t) => {
    const here = home(t, few);
    await (await here.run()).stop();
    await here.run(["--auth", "password", "--password", "nobody knows"]);
    assert.equal((await here.svc(call)).code, 0);
  });

  it("has access in mode trusted-proxy", async (t) => {
    const auth = { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } };
    const here = home(t, { ...few, gateway: { auth, trustedProxies: ["127.0.0.2"], bind: "lan" } });
    await here.run();
    assert.equal((await here.svc(call)).code, 0);
  });

  it("has no access with a wrong explicit credential, or without access to the state directory", async (t) => {
    const here = home(t, few);
    const { ready } = await here.run();
    const wrong = await here.svc([...call, "--token", "wrong"]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^INVALID_REQUEST: unauthorized: gateway token mismatch.*\nNext: .*svc gateway token/);
    rmSync(join(here.stateDir, "credentials"), { recursive: true });
    const { code, stderr } = await here.svc([...call, "--url", ready.url]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^NOT_PAIRED: device identity required\nNext: on the gateway's machine: svc gateway token; then connect with/,
    );
  });
});

describe("svc gateway token", { timeout: 120_000 }, () => {
  it("prints what clients connect with, and nothing else", async (t) => {
    const here = home(t, { ...few, gateway: { auth: { token: "s3cret" } } });
    assert.deepEqual(await here.svc(["gateway", "token"]), { code: 0, stdout: "s3cret\n", stderr: "" });
    assert.deepEqual(JSON.parse((await here.svc(["gateway", "token", "--json"])).stdout), { token: "s3cret" });
  });

  it("explains why there is none", async (t) => {
    const { code, stderr } = await home(t, few).svc(["gateway", "token"]);
    assert.equal(code, 1);
    assert.match(stderr, /no gateway token or password found.*\nNext: svc gateway run/s);
  });
});
