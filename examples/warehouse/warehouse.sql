-- The warehouse. job.py fills in the options of the connectors: Kafka or files in, PostgreSQL or SQLite out.

CREATE TABLE orders (
  order_id BIGINT,
  customer_id BIGINT,
  product_id BIGINT,
  quantity BIGINT,
  ordered_ms BIGINT,
  ordered_at AS TO_TIMESTAMP_LTZ(ordered_ms, 3),
  received_at AS PROCTIME(),
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL '10' SECOND
) WITH (${orders});

-- Each row replaces the one before of the same product.
CREATE TABLE products (
  product_id BIGINT,
  category STRING,
  cents BIGINT,
  changed_ms BIGINT,
  changed_at AS TO_TIMESTAMP_LTZ(changed_ms, 3),
  WATERMARK FOR changed_at AS changed_at,
  PRIMARY KEY (product_id) NOT ENFORCED
) WITH (${products});

-- Tills send an order again when they hear nothing; and some lines are no order at all.
CREATE VIEW clean_orders AS
SELECT order_id, customer_id, product_id, quantity, ordered_at
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY received_at) AS copy
  FROM orders
  WHERE order_id IS NOT NULL AND quantity > 0
)
WHERE copy = 1;

-- The price and category that a product had when it was ordered.
CREATE VIEW sales AS
SELECT o.order_id, o.customer_id, o.ordered_at, p.category, o.quantity * p.cents AS cents
FROM clean_orders AS o
JOIN products FOR SYSTEM_TIME AS OF o.ordered_at AS p ON o.product_id = p.product_id;

CREATE TABLE category_revenue (
  category STRING,
  window_start TIMESTAMP(3),
  orders BIGINT,
  cents BIGINT,
  PRIMARY KEY (category, window_start) NOT ENFORCED
) WITH (${category_revenue});

CREATE TABLE customer_totals (
  customer_id BIGINT,
  orders BIGINT,
  cents BIGINT,
  PRIMARY KEY (customer_id) NOT ENFORCED
) WITH (${customer_totals});

INSERT INTO category_revenue
SELECT category, window_start, COUNT(*), SUM(cents)
FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(ordered_at), INTERVAL '10' MINUTE))
GROUP BY category, window_start, window_end;

INSERT INTO customer_totals
SELECT customer_id, COUNT(*), SUM(cents)
FROM sales
GROUP BY customer_id;
