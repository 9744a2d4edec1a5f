import { defineContract, defineExtensionPoint, definePlugin, Strict, Type } from "@svc/sdk";

/** A unit of length in metres. */
export const Unit = defineExtensionPoint<number>("unit", { remotable: true });
export const units = defineContract("units", {
  list: {
    summary: "Units",
    scope: "operator.read",
    params: Strict({}),
    result: Strict({ ids: Type.Array(Type.String()) }),
  },
});
export const owner = definePlugin({
  id: "units",
  api: "^1.0.0",
  setup(gateway) {
    const view = gateway.own(Unit);
    gateway.serve(units, { list: () => ({ ids: view.list().map(({ id }) => id) }) });
  },
});
export const contributor = definePlugin({
  id: "imperial",
  api: "^1.0.0",
  setup: (gateway) => gateway.extend(Unit, "inch", 0.0254),
});
