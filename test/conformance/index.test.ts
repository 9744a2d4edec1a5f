/**
 * The method index and the events of the protocol: every entry exists in the full bundle. Spec: protocol/README.md "Method
 * index", events.md.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isGatewayError } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";

const names = (text: string) => text.trim().split(/\s+/);

/** The 94 advertised methods, and two that newer clients look for (choice); groups: `namespace.{a,b}`. */
const ADVERTISED = names(`
  health doctor.memory.status logs.tail channels.{status,logout} status usage.{status,cost}
  tts.{status,providers,enable,disable,convert,setProvider} config.{get,set,apply,patch,schema}
  exec.approvals.{get,set,node.get,node.set} exec.approval.{request,waitDecision,resolve} wizard.{start,next,cancel,status}
  talk.{config,mode} models.list tools.catalog agents.{list,create,update,delete,files.list,files.get,files.set}
  skills.{status,bins,install,update} update.run voicewake.{get,set} secrets.{reload,resolve}
  sessions.{list,preview,patch,reset,delete,compact,resolve,usage} last-heartbeat set-heartbeats wake
  node.pair.{request,list,approve,reject,verify} device.pair.{list,approve,reject,remove} device.token.{rotate,revoke}
  node.{rename,list,describe,invoke,invoke.result,event,canvas.capability.refresh}
  cron.{list,status,add,update,remove,run,runs} system-presence system-event send agent agent.identity.get agent.wait
  browser.request chat.{history,abort,send}
`).flatMap((name) => {
  const [, prefix = "", keys] = /^(.*)\{(.*)\}$/.exec(name) ?? [];
  return keys === undefined ? [name] : keys.split(",").map((key) => `${prefix}${key}`);
});

/** Methods that can be called, and are not advertised. `web.login.*` is advertised by channels that have such a login. */
const UNADVERTISED = names(`
  web.login.start web.login.wait sessions.usage.timeseries sessions.usage.logs push.test poll chat.inject
`);

/** Events of `features.events`. */
const EVENTS = names(`
  connect.challenge agent chat presence tick talk.mode shutdown health heartbeat cron node.pair.requested node.pair.resolved
  node.invoke.request device.pair.requested device.pair.resolved voicewake.changed exec.approval.requested
  exec.approval.resolved update.available
`);

describe("the method index", () => {
  it("has 96 advertised methods", () => {
    assert.equal(new Set(ADVERTISED).size, 96);
  });

  it("is advertised", async (t) => {
    const { client } = await testGateway(t);
    const { methods, events } = client.hello.features;
    assert.deepEqual(
      ADVERTISED.filter((name) => !methods.includes(name)),
      [],
    );
    assert.deepEqual(
      EVENTS.filter((name) => !events.includes(name)),
      [],
    );
    assert.deepEqual(
      UNADVERTISED.filter((name) => methods.includes(name)),
      [],
    );
  });

  it("can be called: no method is unknown", async (t) => {
    const { client } = await testGateway(t);
    for (const name of [...ADVERTISED, ...UNADVERTISED]) {
      const error: unknown = await client.request(name, { unexpected: true }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (isGatewayError(error)) assert.doesNotMatch(error.message, /^unknown method/, name);
    }
  });
});
