/** Unknown clients cannot fill the log. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { WebSocket } from "ws";
import { boundedLog } from "../../../host/logs/bounded.ts";
import { startGatewayProcess } from "../../gateway-process.ts";
import { directory } from "../../directory.ts";

function scene() {
  const clock = createFakeClock();
  const lines: [level: string, fields: object, message: string][] = [];
  const to = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message]);
  const log = boundedLog({ debug: to("debug"), info: to("info"), warn: to("warn"), error: to("error") }, clock);
  return { clock, log, lines };
}

describe("the bounded log", () => {
  it("has 30 lines per message and minute, and then the number of dropped ones", async () => {
    const { clock, log, lines } = scene();
    for (let at = 1; at <= 1_000; at++) log.info({ at }, "refused");
    assert.equal(lines.length, 30);
    assert.deepEqual(lines[0], ["info", { at: 1 }, "refused"]);
    assert.deepEqual(lines[29], ["info", { at: 30 }, "refused; further lines of this kind are dropped for 60 s"]);
    log.warn({}, "another");
    assert.deepEqual(lines[30], ["warn", {}, "another"]);
    await clock.advance(60_000);
    log.info({ at: 1_001 }, "refused");
    assert.deepEqual(lines[31], ["info", { at: 1_001, leftOut: 970 }, "refused"]);
    log.info({ at: 1_002 }, "refused");
    assert.deepEqual(lines[32], ["info", { at: 1_002 }, "refused"]);
  });

  it("drops no error", () => {
    const { log, lines } = scene();
    for (let at = 0; at < 100; at++) log.error({}, "broken");
    assert.equal(lines.length, 100);
  });

  it("is used for connections", { timeout: 120_000 }, async (t) => {
    const stateDir = directory(t);
    const gateway = await startGatewayProcess(stateDir, {}, { logLevel: "info" });
    t.after(() => gateway.kill());
    for (let at = 0; at < 40; at++) {
      const ws = new WebSocket(gateway.url);
      ws.on("open", () => ws.send('{"type":"req","id":"1","method":"connect","params":{}}'));
      await once(ws, "close");
    }
    await gateway.kill("SIGTERM");
    assert.equal(gateway.log().match(/connect refused/g)?.length, 30);
  });
});
