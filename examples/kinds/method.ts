import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";

export const dice = defineContract("dice", {
  roll: {
    summary: "Roll a die",
    scope: "operator.write",
    params: Strict({ sides: Type.Integer({ minimum: 2, maximum: 100 }) }),
    result: Strict({ value: Type.Integer() }),
  },
});
export default definePlugin({
  id: "dice",
  api: "^1.0.0",
  setup: (gateway) =>
    gateway.serve(dice, { roll: ({ params }) => ({ value: 1 + Math.floor(Math.random() * params.sides) }) }),
});
