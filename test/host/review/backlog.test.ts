/** A client that sends requests and reads no responses uses a bounded amount of memory. Spec: design/reliability.md line 6. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { it, type TestContext } from "node:test";
import { defineContract, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { clientFrame, UPGRADE } from "../../fuzz/inputs.ts";
import { connectFrame } from "../../raw-socket.ts";
import { pluginOf } from "../../plugin-of.ts";

const MOST = 200_000;
const ANSWER = "x".repeat(50_000);
let answered = 0;

const contract = defineContract("big", {
  read: { summary: "-", scope: "operator.read", params: Type.Object({}), result: Type.Object({ text: Type.String() }) },
});
const big = pluginOf("big", (gateway) =>
  gateway.serve(contract, {
    read: () => {
      answered++;
      return { text: ANSWER };
    },
  }),
);

/** An accepted connection that reads nothing after its `hello-ok`. */
async function deafClient(t: TestContext, port: number, token: string | undefined): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.after(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(UPGRADE);
  socket.write(clientFrame(Buffer.from(JSON.stringify(connectFrame(token)))));
  let seen = "";
  while (!seen.includes("hello-ok")) seen += String((await once(socket, "data"))[0]);
  socket.pause();
  return socket;
}

// The limit is below the 30 s that the client has to read why it was disconnected: the stop does not wait for them.
it("disconnects a client that sends requests and reads no responses, and can stop", { timeout: 25_000 }, async (t) => {
  const { gateway } = await testGateway(t, { plugins: [big], gateway: { maxBufferedBytes: MOST } });
  const socket = await deafClient(t, gateway.port, gateway.auth.token);
  const call = clientFrame(Buffer.from(JSON.stringify({ type: "req", id: "1", method: "big.read" })));
  const asked = 2_000;
  for (let count = 0; count < asked && !socket.destroyed; count++) {
    if (!socket.write(call)) await new Promise((resolve) => setImmediate(resolve));
    if (count % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  while (connectionsOf(gateway) > 1) await new Promise((resolve) => setTimeout(resolve, 20));
  // The kernel buffers some megabytes per socket; all responses together would be a hundred.
  assert.ok(answered < asked / 2, `answered ${answered} of ${asked}`);
  await gateway.stop();
});

function connectionsOf(gateway: object): number {
  return (gateway as { connections(): readonly unknown[] }).connections().length;
}
