import { test } from "node:test";
import { transformContract } from "@svc/sdk/testing";
import transform from "../sample-name.ts";

test("sample-name fulfills the contract of a transform", (t) =>
  transformContract(t, {
    transform,
    examples: [
      { payload: { status: "failed", id: "x" }, expect: { kind: "wake", text: "Build x failed: no log", mode: "now" } },
    ],
    invalid: [{ status: "failed" }],
  }));
