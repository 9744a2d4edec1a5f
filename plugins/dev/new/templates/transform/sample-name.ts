/** sample-name: a failed build wakes the main session; other build events are skipped. */
import { defineTransform, Type } from "@svc/sdk/transform";

export default defineTransform({
  // The schema of the used part of the body. A body that does not match gets 400 with the path of the mismatch.
  payload: Type.Object({
    status: Type.String(),
    id: Type.Union([Type.String(), Type.Integer()]),
    log: Type.Optional(Type.String()),
  }),

  // The gateway runs these examples before it uses a new version of this file.
  examples: [
    {
      name: "failed",
      payload: { status: "failed", id: 7, log: "1 test failed" },
      expect: { kind: "wake", text: "Build 7 failed: 1 test failed", mode: "now" },
    },
    { name: "passed", payload: { status: "passed", id: 8 }, expect: null },
  ],

  transform({ payload: { status, id, log } }) {
    if (status !== "failed") return null;
    return { kind: "wake", text: `Build ${id} failed: ${log ?? "no log"}`, mode: "now" };
  },
});
