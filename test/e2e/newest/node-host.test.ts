/** The newest node host of an existing client, on this gateway. Spec: protocol 4 §4.4. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { nodes } from "@svc/sdk/nodes";
import { withoutTerminal } from "../../host/cli/pseudo-terminal.ts";
import { until } from "../../until.ts";
import { withNewest, withoutNewest } from "./newest.ts";

const skip = withoutNewest || withoutTerminal();

it("is paired, is listed, and answers a call", { skip, timeout: 600_000 }, async (t) => {
  const { gateway, show } = await withNewest(t);
  const client = await gateway.connect();
  t.after(() => client.close());
  show("node", "run", "--host", "127.0.0.1", "--port", new URL(gateway.url).port, "--display-name", "newest");
  const listed = async () =>
    (await client.call(nodes.list, {})).nodes.find(({ displayName }) => displayName === "newest");
  await until(async () => (await listed())?.connected === true, "the node");
  const { nodeId } = (await listed()) ?? assert.fail();
  const params = { nodeId, command: "system.which", params: { bins: ["sh"] }, idempotencyKey: "which-1" };
  const { payload } = await client.call(nodes.invoke, params);
  assert.match(JSON.stringify(payload), /\/sh"/);
});
