import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";

const STEPS = ["CREATE TABLE tally_marks (at INTEGER NOT NULL)"]; // append further steps, never change one
export const tally = defineContract("tally", {
  add: {
    summary: "Add a mark",
    scope: "operator.write",
    params: Strict({}),
    result: Strict({ marks: Type.Integer() }),
  },
});
export default definePlugin({
  id: "tally",
  api: "^1.0.0",
  requires: { storage: Storage },
  setup(gateway) {
    const { storage } = gateway.services;
    gateway.start(() => storage.migrate("tally", STEPS));
    gateway.serve(tally, {
      async add() {
        await storage.transaction([{ sql: "INSERT INTO tally_marks VALUES (?)", params: [gateway.clock.now()] }]);
        return { marks: (await storage.get<{ n: number }>("SELECT count(*) AS n FROM tally_marks"))?.n ?? 0 };
      },
    });
  },
});
