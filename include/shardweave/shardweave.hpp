// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_SHARDWEAVE_HPP
#define SHARDWEAVE_SHARDWEAVE_HPP

/// Everything but the adapters, and testing/, which a program's tests include.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/core/single_flight.hpp>
#include <shardweave/core/time_key.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/move/plan_text.hpp>
#include <shardweave/move/rebalance.hpp>
#include <shardweave/place/file_source.hpp>
#include <shardweave/place/joined_key.hpp>
#include <shardweave/place/key_buffer.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/locate.hpp>
#include <shardweave/place/map_source.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/placement.hpp>
#include <shardweave/place/prepared_table.hpp>
#include <shardweave/place/refresh.hpp>
#include <shardweave/place/refresh_options.hpp>
#include <shardweave/place/routed_id.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_history.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/selector.hpp>
#include <shardweave/place/shard_groups.hpp>
#include <shardweave/place/shard_map.hpp>
#include <shardweave/place/stale_route.hpp>
#include <shardweave/place/table_stamp.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/action.hpp>
#include <shardweave/read/asking.hpp>
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/criterion.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/fan_out.hpp>
#include <shardweave/read/hints.hpp>
#include <shardweave/read/item_traits.hpp>
#include <shardweave/read/key_reader.hpp>
#include <shardweave/read/merge.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/page_driver.hpp>
#include <shardweave/read/position.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/quota.hpp>
#include <shardweave/read/reading.hpp>
#include <shardweave/read/reduce.hpp>
#include <shardweave/read/stats.hpp>
#include <shardweave/read/stream.hpp>
#include <shardweave/read/task_runner.hpp>
#include <shardweave/read/token.hpp>
#include <shardweave/read/trouble.hpp>
#include <shardweave/read/weave.hpp>
#include <shardweave/version.hpp>

#endif
