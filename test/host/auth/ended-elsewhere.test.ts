/** Revocations reach gateways that run, and those that come later. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createEndedElsewhere } from "../../../host/auth/ended-elsewhere.ts";
import { Authority } from "../../../host/auth/principal.ts";
import { HostPeers } from "../../../host/peers.ts";

const token = { mode: "token", token: "the token of this test" } as const;

/** Gateways that get each other's notes from the moment they join. */
function meeting() {
  const joined: HostPeers[] = [];
  const gateway = (name: string) => {
    const send = (text: string) => {
      for (const other of joined) other.heard(text);
    };
    const peers: HostPeers = new HostPeers({ send, log: { warn: () => assert.fail() } });
    const authority = new Authority(token);
    const closed: string[] = [];
    const closeDead = async (reason: string) => {
      closed.push(reason);
      ended.share();
    };
    const ended = createEndedElsewhere({ peers, authority, closeDead });
    ended.share();
    const revoke = (id: string, reason: string) => {
      authority.revoke(id);
      ended.tell(id, reason);
      return closeDead(reason);
    };
    const join = () => {
      joined.push(peers);
      peers.members(name, new Set());
    };
    const device = (id: string) => authority.vouchedPrincipal(`device:${id}`, "operator", [], []);
    return { authority, closed, revoke, join, device };
  };
  return gateway;
}

it("a credential that is revoked ends at gateways that run, once, and at those that come later", async () => {
  const gateway = meeting();
  const [one, other, later] = [gateway("g0"), gateway("g1"), gateway("g2")];
  one.join();
  other.join();
  const [there, then] = [other.device("d1"), later.device("d1")];
  await one.revoke("device:d1", "device removed");
  assert.deepEqual([other.authority.isLive(there), other.closed[0]], [false, "device removed"]);
  assert.ok(one.closed.length <= 2 && other.closed.length <= 2, "they do not tell each other for ever");
  assert.ok(later.authority.isLive(then));
  later.join();
  assert.deepEqual([later.authority.isLive(then), later.closed.length], [false, 1]);
  assert.ok(later.authority.isLive(later.device("d1")), "it may come back");
});
