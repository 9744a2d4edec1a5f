import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Principal } from "@svc/sdk";
import {
  pluginPrincipal,
  requestedScopes,
  sharedSecretPrincipal,
  vouchedPrincipal,
} from "../../../host/auth/principal.ts";

describe("requested scopes", () => {
  const rows: [why: string, asked: string[] | undefined, got: string[]][] = [
    ["none", undefined, []],
    ["an empty list", [], []],
    ["kept in order", ["operator.write", "operator.read"], ["operator.write", "operator.read"]],
    ["each once", ["operator.read", "operator.read"], ["operator.read"]],
    ["the alias", ["admin"], ["operator.admin"]],
    ["the alias and its meaning", ["admin", "operator.admin"], ["operator.admin"]],
    ["unknown ones are kept", ["x.y"], ["x.y"]],
    [
      "names every object has are texts like others",
      ["constructor", "toString", "__proto__"],
      ["constructor", "toString", "__proto__"],
    ],
  ];
  for (const [why, asked, got] of rows) it(why, () => assert.deepEqual(requestedScopes(asked), got));
});

describe("a principal", () => {
  it("of the shared secret holds what was asked for, and says how it came to be", () => {
    for (const mode of ["token", "password", "none"] as const) {
      const { epoch, ...rest } = sharedSecretPrincipal(mode, "operator", ["operator.read"]);
      assert.deepEqual(rest, { id: mode, role: "operator", scopes: ["operator.read"], provenance: mode });
      assert.ok(Number.isInteger(epoch));
    }
  });

  const vouched: [why: string, vouched: string[], asked: string[], held: string[]][] = [
    ["both", ["operator.read"], ["operator.read"], ["operator.read"]],
    ["less than vouched", ["operator.read", "operator.write"], ["operator.read"], ["operator.read"]],
    ["less than asked", ["operator.read"], ["operator.read", "operator.write"], ["operator.read"]],
    ["nothing in common", ["operator.read"], ["operator.admin"], []],
    ["nothing asked", ["operator.admin"], [], []],
  ];
  for (const [why, scopes, asked, held] of vouched) {
    it(`that a plugin vouched for never holds more than was asked for, nor more than vouched: ${why}`, () => {
      const { epoch: _, ...rest } = vouchedPrincipal("device:x", "node", scopes, asked);
      assert.deepEqual(rest, { id: "device:x", role: "node", scopes: held, provenance: "device" });
    });
  }

  it("of a plugin holds exactly what its package asks for", () => {
    const { epoch: _, ...rest } = pluginPrincipal("notes", ["operator.read"]);
    assert.deepEqual(rest, { id: "plugin:notes", role: "operator", scopes: ["operator.read"], provenance: "plugin" });
  });

  it("cannot grow afterwards, not even through the list it was made of", () => {
    const scopes = ["operator.read"];
    const made: Principal[] = [
      sharedSecretPrincipal("token", "operator", scopes),
      vouchedPrincipal("x", "operator", scopes, scopes),
      pluginPrincipal("x", scopes),
    ];
    scopes.push("operator.admin");
    for (const principal of made) {
      assert.deepEqual(principal.scopes, ["operator.read"]);
      assert.ok(Object.isFrozen(principal));
      assert.throws(() => (principal.scopes as string[]).push("operator.admin"), TypeError);
    }
  });
});
