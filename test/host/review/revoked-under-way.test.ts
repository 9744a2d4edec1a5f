/** A credential is revoked while hooks still check a call: the handler never runs. Spec: design/security.md. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Credentials } from "@svc/sdk/gateway";
import { testGateway } from "@svc/sdk/testing";
import { barrier, contractOf } from "../kernel/reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const deed = contractOf("deed", "do");

it("refuses the call", { timeout: 120_000 }, async (t) => {
  const [asked, decided] = [barrier(), barrier()];
  let credentials: Credentials | undefined;
  let done = 0;
  let refused = barrier<string | undefined>();
  const plugin = pluginOf("deed", { requires: { credentials: Credentials } }, (gateway) => {
    credentials = gateway.services.credentials;
    gateway.serve(deed, { do: () => ({ done: ++done }) });
    gateway.hooks.rpcBefore.for("deed.do").tap(async () => {
      asked.open();
      await decided.passed;
      return undefined;
    });
    gateway.hooks.rpcAfter.tap(({ method, code }) => {
      if (method === "deed.do") refused.open(code);
    });
  });
  const { client } = await testGateway(t, { plugins: [plugin] });
  const call = client.call(deed.do, {}).catch(() => undefined);
  await asked.passed;
  void credentials?.revoke("token", "unauthorized: revoked");
  decided.open();
  assert.equal(await refused.passed, "INVALID_REQUEST");
  await call;
  assert.equal(done, 0);
});
