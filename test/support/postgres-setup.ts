import { Cluster } from './postgres-cluster.ts';

/** Starts a PostgreSQL server, in which the tests of the embedded service then keep their data. */
export default async function setup(): Promise<() => void> {
  const cluster = await Cluster.make();
  process.env.HEDDLE_TEST_DATABASE_URL = cluster.url;
  return () => cluster.remove();
}
