import { Cluster } from './postgres-cluster.ts';

/** Starts a server for the tests of test/service, which then keep their data in it. */
export default async function setup(): Promise<() => void> {
  const cluster = await Cluster.make();
  process.env.HEDDLE_TEST_DATABASE_URL = cluster.url;
  return () => cluster.remove();
}
