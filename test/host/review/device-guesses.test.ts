/** Every guess is eventually decided, whatever error ends the handshake; an undecided one would keep its slot forever. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { Access } from "../../../host/auth/access.ts";
import { resolvePeer } from "../../../host/auth/client-address.ts";
import { handshake } from "../../../host/net/ws/handshake.ts";
import { connect, context, device, remote } from "../net/connect-scene.ts";

async function scene() {
  const clock = createFakeClock();
  const access = new Access({ mode: "token", token: "right" }, {}, 18_789, clock);
  const peer = resolvePeer(remote.remoteAddress, remote.headers, access.proxies);
  const attempt = (text: string) =>
    handshake(text, { ...context(), access, peer }).then(
      () => "ok",
      (error: { error?: { details?: { authReason?: string; code?: string } } }) =>
        error.error?.details?.authReason ?? error.error?.details?.code,
    );
  return { clock, access, attempt };
}

const wrong = { auth: { token: "wrong" } };

it("counts a wrong device token, locks, and unlocks after the lockout", async () => {
  const { clock, access, attempt } = await scene();
  const guess = () => attempt(connect({ ...wrong, device: device(wrong) }));
  for (let count = 0; count < 10; count++) assert.equal(await guess(), "token_mismatch");
  assert.equal(await guess(), "rate_limited");
  await clock.advance(299_000);
  assert.equal(await guess(), "rate_limited");
  await clock.advance(2_000);
  assert.equal(await guess(), "token_mismatch", "it was locked for longer than the lockout");
  await clock.advance(3_600_000);
  access.limiter.prune();
  assert.equal(access.limiter.size, 0, "the address is kept for good");
});

it("also counts it if the proof of the device is invalid", async () => {
  const { clock, access, attempt } = await scene();
  const guess = () => attempt(connect({ ...wrong, device: device(wrong, { signature: "A".repeat(86) }) }));
  for (let count = 0; count < 10; count++) assert.equal(await guess(), "DEVICE_AUTH_SIGNATURE_INVALID");
  await clock.advance(3_600_000);
  assert.equal(await guess(), "DEVICE_AUTH_SIGNATURE_INVALID", "it is locked for ever");
  await clock.advance(3_600_000);
  access.limiter.prune();
  assert.equal(access.limiter.size, 0, "the address is kept for good");
});
